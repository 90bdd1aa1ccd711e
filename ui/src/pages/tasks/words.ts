import { defineWords, type Words } from "../../words";
import { en } from "./words.en";
import { zh } from "./words.zh";

export type TaskWord = keyof typeof en;
export const words: Words<TaskWord> = defineWords({ en, zh });
