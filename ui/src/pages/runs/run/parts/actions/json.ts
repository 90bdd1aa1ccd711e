import { isExact, parseJson } from "../../../../../api/exact";
import type { JsonValue } from "../../../../../components";

export type Parsed =
  { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly why: string };

/** What a text says as JSON; nothing at all is null. */
export function parse(text: string): Parsed {
  if (text.trim() === "") return { ok: true, value: null };
  try {
    return { ok: true, value: parseJson<JsonValue>(text) };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

export const written = (value: JsonValue | undefined): string => JSON.stringify(value ?? null, null, 2);

export const isObject = (value: JsonValue): value is { readonly [key: string]: JsonValue } =>
  value !== null && typeof value === "object" && !Array.isArray(value) && !isExact(value);

const SIGNAL = /^[A-Za-z0-9._:-]{1,100}$/;
export const isSignalName = (name: string): boolean => SIGNAL.test(name);
