/** A set-up step can't go on: `message` says what is missing, `remedy` how a person gets it. */
export class SetupError extends Error {
  constructor(message, remedy) {
    super(message);
    this.name = "SetupError";
    this.remedy = remedy;
  }
}

/** Prints a set-up failure for a person; anything unexpected keeps its stack. */
export function printFailure(error, stream = process.stderr) {
  if (error instanceof SetupError) {
    stream.write(`\n✗ ${error.message}\n`);
    if (error.remedy) stream.write(`\n${error.remedy}\n`);
  } else {
    stream.write(`\n✗ ${error?.stack ?? error}\n`);
  }
}
