/** The other end broke a frame protocol; the message is a constant text that never holds what was received. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
}
