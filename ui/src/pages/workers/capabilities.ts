import { PROTECTIONS } from "../tasks/languages";

export interface Abilities {
  readonly kinds: readonly string[]; // of steps
  readonly languages: readonly string[]; // with their versions: `python 3.11.2, 3.12.1`
  readonly sandbox: readonly string[];
  readonly own: readonly string[]; // what its owner gave it: gpu, eu
}

const KINDS = ["python", "shell", "http", "pipeline", "noop", "code"];
const PREFIXED = /^(code[/:]|sandbox:)/;

/** What a worker offers, sorted out for people. */
export function abilitiesOf(capabilities: readonly string[]): Abilities {
  const versions = new Map<string, string[]>();
  for (const each of capabilities) {
    const [kind, language, version] = each.split("/");
    if (kind !== "code" || !language) continue;
    const known = versions.get(language) ?? [];
    versions.set(language, version ? [...known, version] : known);
  }
  const held = new Set(capabilities.flatMap((each) => (each.startsWith("sandbox:") ? [each.slice(8)] : [])));
  return {
    kinds: KINDS.filter((kind) => capabilities.includes(kind)),
    languages: [...versions].map(([language, known]) => {
      const whole = known.filter((version) => !known.some((other) => other.startsWith(`${version}.`)));
      return whole.length ? `${language} ${whole.join(", ")}` : language;
    }),
    sandbox: PROTECTIONS.filter((each) => held.has(each)),
    own: capabilities.filter((each) => !KINDS.includes(each) && !PREFIXED.test(each)),
  };
}
