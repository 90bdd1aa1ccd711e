import { defineWords, type Words } from "../../words";
import { en } from "./words.en";
import { zh } from "./words.zh";

export type SettingsWord = keyof typeof en;
export const words: Words<SettingsWord> = defineWords({ en, zh });
