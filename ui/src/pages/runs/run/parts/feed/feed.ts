/** Numbered things of a run (lines, events) as far as they are known: an unbroken part of all of them. */
export interface Feed<T> {
  readonly items: readonly T[];
  readonly fromStart: boolean; // nothing came before the first of them
}

export type NumberOf<T> = (item: T) => number;

export const nothing = { items: [], fromStart: true } as const;

/** With what came after. What is known already is left out; of more than `most`, the oldest go. */
export function append<T>(feed: Feed<T>, fresh: readonly T[], number: NumberOf<T>, most: number): Feed<T> {
  const last = feed.items.at(-1);
  const known = last === undefined ? -1 : number(last);
  const news = fresh.filter((item) => number(item) > known);
  if (news.length === 0) return feed;
  const items = feed.items.concat(news); // not spread: that takes ten times as long
  if (items.length <= most) return { items, fromStart: feed.fromStart };
  return { items: items.slice(items.length - most), fromStart: false };
}

export function prepend<T>(
  feed: Feed<T>,
  older: readonly T[],
  number: NumberOf<T>,
  fromStart: boolean,
): Feed<T> {
  const first = feed.items[0];
  const before = first === undefined ? older : older.filter((item) => number(item) < number(first));
  return { items: [...before, ...feed.items], fromStart };
}

/** Where the item with this number is, or the first after it. */
export function placeOf<T>(items: readonly T[], wanted: number, number: NumberOf<T>): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && number(item) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: number | null;
}
export type ReadPage<T> = (after: number, limit: number) => Promise<Page<T>>;

const SPAN = 1_000; // also the longest page that the server gives
const SPAN_MAX = 1_000_000;

/**
 * Some of what comes before the item with this number. Numbers have no gaps, but a filter may leave out any of
 * them: where it left nothing, the search goes further back.
 */
export async function readBefore<T>(first: number, read: ReadPage<T>, number: NumberOf<T>): Promise<Feed<T>> {
  for (let span = SPAN; ; span = Math.min(SPAN_MAX, span * 8)) {
    const start = Math.max(0, first - 1 - span);
    const items = await readBetween(start, first, read, number);
    if (items.length > 0 || start === 0) return { items, fromStart: start === 0 };
  }
}

async function readBetween<T>(
  start: number,
  end: number,
  read: ReadPage<T>,
  number: NumberOf<T>,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (let after: number | null = start; after !== null && after < end - 1;) {
    const page: Page<T> = await read(after, SPAN);
    const before = page.items.filter((item) => number(item) < end);
    found.push(...before);
    after = before.length < page.items.length ? null : page.next;
  }
  return found;
}

/** All of them, page by page, as far as `most`. */
export async function readAll<T>(read: ReadPage<T>, most: number): Promise<readonly T[]> {
  const found: T[] = [];
  for (let after: number | null = 0; after !== null && found.length < most;) {
    const page: Page<T> = await read(after, SPAN);
    found.push(...page.items);
    after = page.next;
  }
  return found;
}
