/** Keys of the labels that every container of Bailiff carries; the sweeper finds leftovers by them alone. */
export const LABEL = {
  deployment: "bailiff.deployment",
  worker: "bailiff.worker",
  command: "bailiff.command",
  workspace: "bailiff.workspace",
  tenant: "bailiff.tenant",
  /** On a container that only tries the engine. */
  probe: "bailiff.probe",
  /** Milliseconds since the epoch. */
  deadline: "bailiff.deadline",
} as const;
