import { capture, findProgram } from "./command.mjs";
import { SetupError } from "./setup-error.mjs";

/** Finds the redis-server program; it is started as a private child by those who need one, never as a service. */
export async function ensureRedis(progress) {
  const path = await findProgram("redis-server");
  if (!path) {
    throw new SetupError("redis-server is not installed.", "Install it (Debian package redis-server).");
  }
  const { stdout } = await capture(path, ["--version"]);
  const version = /\bv=(\d+)\.(\d+)\.\S+/.exec(stdout);
  if (!version || Number(version[1]) < 6 || (Number(version[1]) === 6 && Number(version[2]) < 2)) {
    throw new SetupError(
      `${path} is ${version?.[0].slice(2) ?? "of an unknown version"}, but Redis 6.2 or newer is needed.`,
      "Install a newer redis-server, or put one earlier in PATH.",
    );
  }
  progress.ready("Redis", `${path} ${version[0].slice(2)}`);
  return path;
}
