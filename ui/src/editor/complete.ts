import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";

export interface KnownKey {
  readonly key: string;
  readonly about: string;
}
/** By depth of the place: the document's own keys, those of a step, those of an input … */
export type KnownKeys = (path: readonly string[]) => readonly KnownKey[];

/** Keys of a mapping in block style, offered where one can begin. */
export function completeKeys(known: () => KnownKeys | undefined): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const keys = known();
    if (keys === undefined) return null;
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const word = /^(\s*)(\w*)$/.exec(before);
    if (word === null || (!word[2] && !context.explicit)) return null;
    const above = context.state.doc.sliceString(0, line.from).split("\n").slice(0, -1);
    const options = keys(pathOf(above, word[1]?.length ?? 0)).map(({ key, about }) => ({
      label: key,
      apply: `${key}: `,
      detail: about.slice(0, 60),
      type: "property",
    }));
    return options.length ? { from: context.pos - (word[2]?.length ?? 0), options, validFor: /^\w*$/ } : null;
  };
}

/** The keys above a line that is indented so far: `steps`, `greet` for a key of the step greet. */
export function pathOf(above: readonly string[], indent: number): string[] {
  const path: string[] = [];
  let inside = indent;
  for (const line of above.toReversed()) {
    const found = /^(\s*)([^\s#:-][^:]*):(\s|$)/.exec(line);
    if (found === null) continue;
    const depth = found[1]?.length ?? 0;
    if (depth >= inside) continue;
    path.unshift((found[2] ?? "").replace(/^["']|["']$/g, ""));
    inside = depth;
    if (depth === 0) break;
  }
  return path;
}
