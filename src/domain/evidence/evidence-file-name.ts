/** One file of a tenant's evidence. */
export interface EvidenceFileName {
  readonly name: string;
  readonly tenant: string;
  /** Its last record; null for the file that still grows. */
  readonly lastSeq: number | null;
}

/** Zeros in front make the order of names the order of records. */
const DIGITS = 15;
const NAME = new RegExp(`^([a-z0-9_-]+)(?:\\.([0-9]{${DIGITS}}))?\\.jsonl$`);

/** The name of a file that grows no more, after its last record. */
export function earlierName(tenant: string, lastSeq: number): string {
  return `${tenant}.${String(lastSeq).padStart(DIGITS, "0")}.jsonl`;
}

/** Which names are evidence, of one tenant or of all (null), in the order of their records. What was set aside is none. */
export function evidenceFilesOf(
  names: readonly string[],
  tenant: string | null,
): readonly EvidenceFileName[] {
  return names
    .flatMap((name) => {
      const [, of, seq] = NAME.exec(name) ?? [];
      if (of === undefined || (tenant !== null && of !== tenant)) return [];
      return [{ name, tenant: of, lastSeq: seq === undefined ? null : Number(seq) }];
    })
    .sort((a, b) => (a.lastSeq ?? Number.POSITIVE_INFINITY) - (b.lastSeq ?? Number.POSITIVE_INFINITY));
}
