import type { Fault } from "../api";

/** A mistake at its place in a text: lines and columns count from 1. */
export interface Mark {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly pointer: string;
}

/** What the server found wrong, as places in the text. What has no place is at the first line. */
export function marksOf(faults: readonly Fault[]): Mark[] {
  return faults
    .map(({ pointer, message, line, column }) => ({
      line: Math.max(1, line ?? 1),
      column: Math.max(1, column ?? 1),
      message,
      pointer,
    }))
    .sort((one, other) => one.line - other.line || one.column - other.column);
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a mark covers, as offsets: from its column to the end of the word or value there, never nothing. */
export function spanOf(text: string, mark: Mark): Span {
  const lines = text.split("\n");
  const number = Math.min(mark.line, lines.length);
  let start = 0;
  for (const line of lines.slice(0, number - 1)) start += line.length + 1;
  const line = lines[number - 1] ?? "";
  const column = number === mark.line ? Math.min(mark.column - 1, line.length) : line.length;
  const rest = line.slice(column).replace(/\s+(#.*)?$/, "");
  const found = /^(?:"[^"]*"|'[^']*'|[^\s:,[\]{}]+)/.exec(rest)?.[0] ?? rest;
  if (found) return { from: start + column, to: start + column + found.length };
  // Nothing stands there: the line as far as it is written.
  const indent = line.length - line.trimStart().length;
  return { from: start + Math.min(indent, line.length), to: start + line.length };
}
