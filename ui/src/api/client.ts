import { namespaceOf } from "../router";
import { heard, lost } from "./connection";
import { parseJson } from "./exact";
import { isAbort, problemOf, unreachable } from "./problem";
import { signedOut } from "./session-store";

export const API = "/api/v1";

export type QueryValue = string | number | boolean | null | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

export interface Options {
  readonly query?: Query;
  readonly body?: unknown; // sent as JSON
  readonly yaml?: string; // sent as it is
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly namespace?: string | null; // another one than that of the address
}

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** What the server answers; throws a Problem for every refusal. The cookie of the login goes along. */
export async function ask<T>(method: Method, path: string, options: Options = {}): Promise<T> {
  const answer = await send(method, path, options);
  const type = answer.headers.get("Content-Type") ?? "";
  const text = await answer.text();
  return type.startsWith("application/json") ? parseJson<T>(text) : (text as T);
}

/** The bare answer, for streams. */
export async function send(method: Method, path: string, options: Options = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(address(path, options.query), {
      method,
      headers: headersOf(options),
      body: options.yaml ?? (options.body === undefined ? null : JSON.stringify(options.body)),
      signal: options.signal ?? null,
      cache: "no-store",
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    lost();
    throw unreachable();
  }
  heard();
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401 && !path.endsWith("/login")) signedOut(true);
  if (problem.status === 502) lost();
  throw problem;
}

export const get = <T>(path: string, options?: Options) => ask<T>("GET", path, options);
export const post = <T>(path: string, body?: unknown, options?: Options) =>
  ask<T>("POST", path, { ...options, body });
export const put = <T>(path: string, body?: unknown, options?: Options) =>
  ask<T>("PUT", path, { ...options, body });
export const remove = <T>(path: string, options?: Options) => ask<T>("DELETE", path, options);

/** `at("/runs/:run/steps", { run })`: a path of the API, its parts escaped. */
export function at(pattern: string, parts: Readonly<Record<string, string | number>> = {}): string {
  return API + pattern.replace(/:([a-z]\w*)/gi, (_, name: string) => encodeURIComponent(String(parts[name])));
}

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return text ? `${path}${path.includes("?") ? "&" : "?"}${text}` : path;
}

function headersOf(options: Options): Record<string, string> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (options.yaml !== undefined) headers["Content-Type"] = "application/yaml";
  else if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const namespace = options.namespace === undefined ? namespaceOf(location.search) : options.namespace;
  if (namespace) headers["X-Windlass-Namespace"] = namespace;
  return headers;
}
