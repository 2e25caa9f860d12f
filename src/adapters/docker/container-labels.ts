/** Keys of the labels that every container of Bailiff carries; the sweeper finds leftovers by them alone. */
export const LABEL = {
  deployment: "bailiff.deployment",
  worker: "bailiff.worker",
  command: "bailiff.command",
  workspace: "bailiff.workspace",
  tenant: "bailiff.tenant",
  /** Milliseconds since the epoch. */
  deadline: "bailiff.deadline",
} as const;
