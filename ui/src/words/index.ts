import { useMemo } from "react";
import { recall, remember } from "../kept";
import { Store, useStore } from "../store";
import { en } from "./en";
import { format, type Values } from "./format";
import { zh } from "./zh";

export type Language = "en" | "zh";
export const LANGUAGES: Readonly<Record<Language, string>> = { en: "English", zh: "中文" };

const TAGS: Readonly<Record<Language, string>> = { en: "en", zh: "zh-CN" };

function first(): Language {
  const kept = recall("language");
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

const language = new Store<Language>(first());
document.documentElement.lang = TAGS[language.get()];

export function setLanguage(chosen: Language): void {
  remember("language", chosen);
  document.documentElement.lang = TAGS[chosen];
  language.set(chosen);
}

export const useLanguage = (): Language => useStore(language);

/** For `Intl`: English as the viewer writes it, if that is some English; else plain. */
export function localeOf(chosen: Language): string {
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(chosen)) ?? TAGS[chosen];
}

/** The words of one page in both languages. A key that one of them lacks does not compile. */
export interface Words<K extends string> {
  readonly en: Readonly<Record<K, string>>;
  readonly zh: Readonly<Record<K, string>>;
}
export type Say<K extends string> = (key: K, values?: Values) => string;

export function defineWords<K extends string>(words: Words<K>): Words<K> {
  return words;
}

/** `const t = useWords(words)`, then `t("title")` or `t("found", { count: 3 })`. */
export function useWords<K extends string>(words: Words<K>): Say<K> {
  const chosen = useLanguage();
  return useMemo(() => say(words, chosen), [words, chosen]);
}

export function say<K extends string>(words: Words<K>, chosen: Language): Say<K> {
  return (key, values) => format(words[chosen][key], values);
}

export type SharedKey = keyof typeof en;
export const shared: Words<SharedKey> = { en, zh };

/** The words that all pages share. */
export const useT = (): Say<SharedKey> => useWords(shared);
/** The same outside of components. */
export const t: Say<SharedKey> = (key, values) => say(shared, language.get())(key, values);
