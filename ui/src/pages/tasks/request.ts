import { NAMESPACE } from "../../app/namespaces";
import type { Protection } from "./languages";

/** What stands in the form. Empty: as the server has it. */
export interface Wishes {
  readonly timeout: string;
  readonly memory: string;
  readonly cpu: string;
  readonly processes: string;
  readonly disk: string;
  readonly output: string;
  readonly network: boolean;
  readonly protections: readonly Protection[];
}

export const NO_WISHES: Wishes = {
  timeout: "",
  memory: "",
  cpu: "",
  processes: "",
  disk: "",
  output: "",
  network: false,
  protections: [],
};

export interface Program {
  readonly language: string;
  readonly version: string;
  readonly code: string;
  readonly stdin: string;
}

const TEXTS = ["timeout", "memory", "cpu", "disk", "output"] as const;

/** The body of `POST /tasks`: only what was said. */
export function bodyOf(program: Program, wishes: Wishes): Record<string, unknown> {
  const limit: Record<string, unknown> = {};
  for (const name of TEXTS) if (wishes[name].trim()) limit[name] = wishes[name].trim();
  const processes = wishes.processes.trim();
  if (processes) limit["processes"] = /^\d+$/.test(processes) ? Number(processes) : processes;
  if (wishes.network) limit["network"] = true;
  const body: Record<string, unknown> = { language: program.language, code: program.code };
  if (program.version) body["version"] = program.version;
  if (program.stdin) body["stdin"] = program.stdin;
  if (Object.keys(limit).length) body["resourceLimit"] = limit;
  if (wishes.protections.length) body["protections"] = [...wishes.protections];
  return body;
}

/** Where a command goes: to this server, as who is logged in here would send it. */
export interface Server {
  readonly origin: string;
  readonly login: boolean; // it wants a token, which the command takes from the environment
  readonly namespace: string | null; // null: that of the token
}

/** The same for the command line, to copy. */
export function curlOf(body: Record<string, unknown>, server: Server): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl -s '${server.origin}/api/v1/tasks?wait=30s' -H 'Content-Type: application/json'`,
    ...(server.login ? ['-H "Authorization: Bearer $WINDLASS_TOKEN"'] : []),
    // The address may name anything, and what is copied is run by a shell.
    ...(server.namespace && NAMESPACE.test(server.namespace)
      ? [`-H 'X-Windlass-Namespace: ${server.namespace}'`]
      : []),
    `-d '${text}'`,
  ].join(" ");
}
