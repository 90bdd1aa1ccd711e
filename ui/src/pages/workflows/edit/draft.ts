import { at, get } from "../../../api";
import { textOf } from "../text/document";
import type { Document } from "../types";

/** What somebody is writing, and the version that they began from. */
export interface Draft {
  readonly base: number;
  readonly before: string; // that version, as text
  readonly text: string;
}

interface Written {
  readonly version: number;
  readonly text: string | null; // null: it did not come as YAML
}

/** The newest version, to be changed: as it was written, comments and all, if it was YAML. */
export async function begin(id: string): Promise<Draft> {
  const found = await get<Written>(at("/workflows/:id/text", { id }));
  const text = found.text ?? (await plainAt(id, found.version));
  return { base: found.version, before: text, text };
}

export interface Compared {
  readonly before: string;
  readonly after: string;
  readonly chosen: string; // the later one as it was written
  readonly newest: string;
}

/** Two versions: as they were written if both were YAML, else both in the same plain form. */
export async function compare(id: string, one: number, other: number, newest: number): Promise<Compared> {
  const written = once((version) => writtenAt(id, version));
  const plain = once((version) => plainAt(id, version));
  const textAt = async (version: number) => (await written(version)) ?? plain(version);
  const [before, after, chosen, last] = await Promise.all([
    written(one),
    written(other),
    textAt(other),
    textAt(newest),
  ]);
  if (before !== null && after !== null) return { before, after, chosen, newest: last };
  return { before: await plain(one), after: await plain(other), chosen, newest: last };
}

/** What is asked for again is not read again. */
function once<T>(read: (version: number) => Promise<T>): (version: number) => Promise<T> {
  const known = new Map<number, Promise<T>>();
  return (version) => {
    const found = known.get(version) ?? read(version);
    known.set(version, found);
    return found;
  };
}

async function writtenAt(id: string, version: number): Promise<string | null> {
  return (await get<Written>(at("/workflows/:id/text", { id }), { query: { version } })).text;
}

async function plainAt(id: string, version: number): Promise<string> {
  return textOf(await get<Document>(at("/workflows/:id", { id }), { query: { version } }));
}

export const TEMPLATE = `id: my-workflow
description: What it is for
inputs:
  name: {type: string, default: world}
steps:
  greet:
    kind: shell
    with:
      argv: [echo, "hello \${{ inputs.name }}"]
  done:
    kind: noop
    needs: [greet]
`;
