import { defineWords, type Words } from "../../words";
import { en } from "./words.en";
import { zh } from "./words.zh";

export type WorkerWord = keyof typeof en;
export const words: Words<WorkerWord> = defineWords({ en, zh });
