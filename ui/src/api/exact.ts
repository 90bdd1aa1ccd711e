/**
 * JSON whose whole numbers stay as they are written. Those of a browser are exact up to 2^53, and ids of 19 digits are
 * common: such a one becomes an object that `JSON.stringify` writes with all its digits.
 */
export interface Exact {
  readonly rawJSON: string;
}

// Not all browsers know these yet; one that does not rounds, as ever.
const json = JSON as JSON & {
  readonly rawJSON?: (text: string) => Exact;
  readonly isRawJSON?: (value: unknown) => boolean;
};
const LONG = /(?<![\w.-])-?\d{16,}(?![\w.])/;
const WHOLE = /^-?\d+$/;

export function parseJson<T>(text: string): T {
  const { rawJSON } = json;
  if (rawJSON === undefined || !LONG.test(text)) return JSON.parse(text) as T;
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source ?? "";
    return typeof value === "number" && !Number.isSafeInteger(value) && WHOLE.test(source)
      ? rawJSON.call(JSON, source)
      : value;
  };
  return JSON.parse(text, exact) as T;
}

export function isExact(value: unknown): value is Exact {
  return json.isRawJSON?.(value) ?? false;
}
