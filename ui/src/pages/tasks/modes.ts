import type { Extension } from "@codemirror/state";
import { StreamLanguage, type StreamParser } from "@codemirror/language";

type Parser = StreamParser<unknown>;
type LoadMode = () => Promise<Extension>;

const stream = (load: () => Promise<Parser>): LoadMode => {
  return async () => StreamLanguage.define(await load());
};
const clike = (name: "c" | "cpp" | "java"): LoadMode =>
  stream(async () => (await import("@codemirror/legacy-modes/mode/clike"))[name] as Parser);

// Each is a file of its own, and comes when its language is chosen.
const MODES: Readonly<Record<string, LoadMode>> = {
  python: async () => (await import("@codemirror/lang-python")).python(),
  javascript: async () => (await import("@codemirror/lang-javascript")).javascript(),
  typescript: async () => (await import("@codemirror/lang-javascript")).javascript({ typescript: true }),
  bash: stream(async () => (await import("@codemirror/legacy-modes/mode/shell")).shell as Parser),
  c: clike("c"),
  cpp: clike("cpp"),
  java: clike("java"),
  php: clike("c"), // near enough: comments, texts and words are the same
  golang: stream(async () => (await import("@codemirror/legacy-modes/mode/go")).go as Parser),
  rust: stream(async () => (await import("@codemirror/legacy-modes/mode/rust")).rust as Parser),
  ruby: stream(async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby as Parser),
  lua: stream(async () => (await import("@codemirror/legacy-modes/mode/lua")).lua as Parser),
  perl: stream(async () => (await import("@codemirror/legacy-modes/mode/perl")).perl as Parser),
};

/** How a language is coloured; none is known for those that workers have added. */
export async function modeOf(language: string): Promise<Extension> {
  return (await MODES[language]?.()) ?? [];
}
