import fc from "fast-check";

/** The same bytes cut at the given places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set(places.map((place) => Math.min(place, bytes.length)))].sort((a, b) => a - b);
  const edges = [0, ...sorted, bytes.length];
  return edges.slice(1).map((end, index) => bytes.subarray(edges[index] ?? 0, end));
}

/** Every byte on its own. */
export function byteByByte(bytes: Buffer): Buffer[] {
  return cutAt(
    bytes,
    Array.from({ length: bytes.length }, (_, at) => at),
  );
}

/** Places to cut at, for bytes of up to this length. */
export function cutPlaces(maxLength: number): fc.Arbitrary<number[]> {
  return fc.array(fc.nat({ max: maxLength }), { maxLength: 40 });
}
