// Loaded into a process under measurement, started with --expose-gc: answers every message with its heap after a collection.
process.on("message", () => {
  globalThis.gc();
  process.send?.(process.memoryUsage().heapUsed);
});
// The channel is the measuring process's; it must not keep this one alive.
process.channel?.unref();
