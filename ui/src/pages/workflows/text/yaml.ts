import { isExact } from "../../../api/exact";
import type { JsonValue } from "../../../components";

const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n|~)$/i;
const LINE_MAX = 88;

/** JSON as YAML that people like to read, and that every YAML reader takes for the same value. */
export function toYaml(value: JsonValue): string {
  if (isMap(value) && Object.keys(value).length) return mapping(value, 0).join("\n") + "\n";
  return `${inline(value)}\n`;
}

function mapping(value: { readonly [key: string]: JsonValue }, depth: number): string[] {
  return Object.entries(value).flatMap(([name, part]) => entry(`${indent(depth)}${key(name)}:`, part, depth));
}

function sequence(values: readonly JsonValue[], depth: number): string[] {
  return values.flatMap((part) => {
    if (!isMap(part) || !Object.keys(part).length) return entry(`${indent(depth)}-`, part, depth);
    // The first key stands beside the dash.
    const [first = "", ...rest] = mapping(part, depth + 1);
    return [`${indent(depth)}- ${first.trimStart()}`, ...rest];
  });
}

function entry(head: string, value: JsonValue, depth: number): string[] {
  if (typeof value === "string" && isBlock(value)) return block(head, value, depth);
  if (value === null || typeof value !== "object" || isExact(value)) return [`${head} ${scalar(value)}`];
  const short = `${head} ${inline(value)}`;
  if (Array.isArray(value)) {
    const flat = value.every((part) => part === null || typeof part !== "object");
    if (!value.length || (flat && short.length <= LINE_MAX && !value.some(isBlock))) return [short];
    return [head, ...sequence(value, depth + 1)];
  }
  return Object.keys(value).length ? [head, ...mapping(value as never, depth + 1)] : [short];
}

/** Text of several lines, as it is. */
function block(head: string, text: string, depth: number): string[] {
  const ends = text.length - text.replace(/\n+$/, "").length;
  const sign = ends === 0 ? "|-" : ends === 1 ? "|" : "|+";
  const lines = (ends ? text.slice(0, -1) : text).split("\n");
  return [`${head} ${sign}`, ...lines.map((line) => (line ? indent(depth + 1) + line : ""))];
}

function isBlock(value: JsonValue): boolean {
  return (
    typeof value === "string" &&
    value.includes("\n") &&
    /\S/.test(value) &&
    !/^[\s]/.test(value) && // else it would have to say how far it is indented
    !/[^\S\n]$/m.test(value) &&
    !/[^\n\t\x20-\x7e\u00a1-\u1fff\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd]/.test(value)
  );
}

function inline(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((part: JsonValue) => inline(part)).join(", ")}]`;
  if (isMap(value))
    return `{${Object.entries(value)
      .map(([name, part]) => `${key(name)}: ${inline(part)}`)
      .join(", ")}}`;
  return typeof value === "string" && !isWord(value) ? quoted(value) : scalar(value);
}

function scalar(value: JsonValue): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const plain =
    /^[A-Za-z_$/\u4e00-\u9fff]/.test(value) &&
    !RESERVED.test(value) &&
    !/: |:$| #|\s$|[^\x20-\x7e\u00a1-\u1fff\u3000-\u9fff\uff00-\uffef]/.test(value);
  return plain ? value : quoted(value);
}

function key(name: string): string {
  return isWord(name) ? name : quoted(name);
}

function isWord(text: string): boolean {
  return /^[A-Za-z_][\w./-]*$/.test(text) && !RESERVED.test(text);
}

function quoted(text: string): string {
  if (/[\\"]/.test(text) && /^[\x20-\x7e\u00a1-\u1fff\u3000-\u9fff]*$/.test(text))
    return `'${text.replaceAll("'", "''")}'`;
  return JSON.stringify(text).replace(
    /[\x7f-\xa0\u2028\u2029\ufeff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function indent(depth: number): string {
  return "  ".repeat(depth);
}

function isMap(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExact(value);
}
