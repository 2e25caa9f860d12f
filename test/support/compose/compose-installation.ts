import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Docker from "dockerode";
import { readTestEnvironment } from "../environment.js";
import { type CommandPage, commandsUnder } from "./page-commands.js";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SCRIPT_LIMIT_MS = 900_000;

/** One container of the installation, as the engine has it. */
export interface ServiceContainer {
  readonly id: string;
  readonly service: string;
  readonly number: string;
}

/** The installation that docker-compose.yml describes, under a project, a deployment and a directory of its own. */
export interface ComposeInstallation {
  readonly url: string;
  readonly deployment: string;
  readonly docker: Docker;
  /** Runs the commands under a heading of a page of docs; gives what they printed. */
  page(page: CommandPage, heading: string): Promise<string>;
  /** Runs a shell script as an operator would; gives what it printed. */
  shell(script: string): Promise<string>;
  containers(): Promise<readonly ServiceContainer[]>;
  /** Names of everything the engine still has of it: containers, networks and volumes. */
  traces(): Promise<readonly string[]>;
  /** Takes away whatever is left. */
  remove(): Promise<void>;
}

/** Prepares one; nothing is started yet. */
export async function createComposeInstallation(
  settings: Readonly<Record<string, string>> = {},
): Promise<ComposeInstallation> {
  const directory = await mkdtemp(join(tmpdir(), "bailiff-compose-"));
  await chmod(directory, 0o755);
  const project = `bailiff-${directory
    .slice(-6)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "0")}`;
  const port = await freePort();
  const docker = new Docker({ socketPath: readTestEnvironment().dockerSocket });
  // Compose takes these before what stands in .env.
  const env = {
    ...process.env,
    COMPOSE_PROJECT_NAME: project,
    BAILIFF_DEPLOYMENT: project,
    BAILIFF_HOME: join(directory, "home"),
    BAILIFF_PORT: String(port),
    ...settings,
  };
  const shell = async (script: string) => {
    const options = { cwd: ROOT, env, timeout: SCRIPT_LIMIT_MS, maxBuffer: 1 << 26 };
    return (await run("/bin/sh", ["-euc", script], options)).stdout;
  };
  const ofProject = { label: [`com.docker.compose.project=${project}`] };
  return {
    url: `http://127.0.0.1:${port}`,
    deployment: project,
    docker,
    page: async (page, heading) => shell(await commandsUnder(page, heading)),
    shell,
    async containers() {
      const found = await docker.listContainers({ all: true, filters: ofProject });
      return found.map(({ Id, Labels }) => ({
        id: Id,
        service: Labels["com.docker.compose.service"] ?? "",
        number: Labels["com.docker.compose.container-number"] ?? "",
      }));
    },
    async traces() {
      const [services, commands, networks, volumes] = await Promise.all([
        docker.listContainers({ all: true, filters: ofProject }),
        docker.listContainers({ all: true, filters: { label: [`bailiff.deployment=${project}`] } }),
        docker.listNetworks({ filters: ofProject }),
        docker.listVolumes({ filters: ofProject }),
      ]);
      return [
        ...[...services, ...commands].map(({ Names }) => Names.join()),
        ...networks.map(({ Name }) => Name),
        ...(volumes.Volumes ?? []).map(({ Name }) => Name),
      ];
    },
    async remove() {
      await shell("docker-compose down --volumes --timeout 5; rm -f redis-backup.rdb");
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A port nobody has at this moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
