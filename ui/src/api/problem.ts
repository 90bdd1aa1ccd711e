import { t } from "../words";

export interface Fault {
  readonly pointer: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** The title of our own refusal of a token that pages can do nothing with. */
export const FOR_PROGRAMS = "For programs";

/** What the server refused, or that it could not be reached (status 0). `message` is for people. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    message: string,
    readonly faults: readonly Fault[] = [],
    readonly requestId = "",
    readonly retryAfterS: number | null = null,
    readonly code: number | null = null, // of the table in docs/tasks.md, where tasks are spoken of
  ) {
    super(message);
    this.name = "Problem";
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

export function unreachable(): Problem {
  return new Problem(0, t("problem.unreachable"), t("problem.unreachableMore"));
}

interface Body {
  error?: unknown;
  message?: unknown;
  details?: unknown;
  requestId?: unknown;
  // Tasks have a shape of their own.
  code?: unknown;
  detail?: unknown;
  errors?: unknown;
}

/** An answer with an error status, as a Problem; also one that a proxy made up. */
export async function problemOf(answer: Response): Promise<Problem> {
  const words = await answer.text().catch(() => "");
  let body: unknown = {};
  try {
    body = JSON.parse(words);
  } catch {
    body = { message: words.slice(0, 300) };
  }
  const retryAfter = Number(answer.headers.get("Retry-After") ?? Number.NaN);
  return problemFrom(answer.status, body, answer.statusText, Number.isFinite(retryAfter) ? retryAfter : null);
}

/** The same of a body that came otherwise. */
export function problemFrom(
  status: number,
  told: unknown,
  statusText = "",
  retryAfterS: number | null = null,
): Problem {
  let body = (told ?? {}) as Body;
  if (typeof body.code === "number")
    body = { ...body, error: body.message, message: body.detail, details: body.errors };
  return new Problem(
    status,
    typeof body.error === "string" ? body.error : `HTTP ${status}`,
    typeof body.message === "string" && body.message ? body.message : statusText,
    Array.isArray(body.details) ? (body.details as Fault[]) : [],
    typeof body.requestId === "string" ? body.requestId : "",
    retryAfterS,
    typeof body.code === "number" ? body.code : null,
  );
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(-1, t("problem.page"), String(error));
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
