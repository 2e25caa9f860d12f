// SOURCE TARGET: puts bailiff-init where the engine finds it; one that is there gives way.
import { chmodSync, copyFileSync, renameSync, rmSync } from "node:fs";

const [, source, target] = process.argv;
const next = `${target}.next`;
rmSync(next, { force: true });
copyFileSync(source, next);
chmodSync(next, 0o555);
renameSync(next, target);
