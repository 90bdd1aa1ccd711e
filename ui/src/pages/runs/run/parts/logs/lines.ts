/** One of GET /runs/{id}/logs. */
export interface LogLine {
  readonly n: number;
  readonly at: string;
  readonly step: string;
  readonly attempt: number;
  readonly stream: "stdout" | "stderr" | "system"; // system: Windlass itself, where lines were dropped
  readonly text: string;
}

export const numberOf = (line: LogLine): number => line.n;

/** The lines that are shown: of one attempt, or all. */
export function ofAttempt(lines: readonly LogLine[], attempt: number | null): readonly LogLine[] {
  return attempt === null ? lines : lines.filter((line) => line.attempt === attempt);
}

/** The attempts that printed something, in order. */
export function attemptsIn(lines: readonly LogLine[]): readonly number[] {
  return [...new Set(lines.map((line) => line.attempt))].sort((one, other) => one - other);
}

export function isIn(line: LogLine, sought: string): boolean {
  return sought !== "" && line.text.toLowerCase().includes(sought.toLowerCase());
}

/** The numbers of the lines in which it is found. */
export function findIn(lines: readonly LogLine[], sought: string): readonly number[] {
  return sought === "" ? [] : lines.filter((line) => isIn(line, sought)).map(numberOf);
}

/** The next place to look at, round and round; from nowhere the last one, as that is what is seen. */
export function nextFound(found: readonly number[], at: number | null, forward: boolean): number | null {
  if (found.length === 0) return null;
  const here = at === null ? -1 : found.indexOf(at);
  if (here < 0) return found.at(-1) ?? null;
  return found[(here + (forward ? 1 : -1) + found.length) % found.length] ?? null;
}

export interface Piece {
  readonly text: string;
  readonly found: boolean;
}

/** A text cut up at what is sought. */
export function piecesOf(text: string, sought: string): readonly Piece[] {
  if (sought === "") return [{ text, found: false }];
  const small = text.toLowerCase();
  const wanted = sought.toLowerCase();
  // A few letters have another length when they are small: then nothing can be marked.
  if (small.length !== text.length) return [{ text, found: false }];
  const pieces: Piece[] = [];
  let from = 0;
  for (let at = small.indexOf(wanted); at >= 0; at = small.indexOf(wanted, from)) {
    if (at > from) pieces.push({ text: text.slice(from, at), found: false });
    from = at + wanted.length;
    pieces.push({ text: text.slice(at, from), found: true });
  }
  if (from < text.length) pieces.push({ text: text.slice(from), found: false });
  return pieces;
}

/** As a text file has them: when, where and what. */
export function textOf(lines: readonly LogLine[]): string {
  return lines
    .map((line) => `${line.at} ${line.step}#${line.attempt} ${line.stream} ${line.text}\n`)
    .join("");
}
