import { defineWords } from "../../words";
import { en } from "./words.en";
import { zh } from "./words.zh";

export const words = defineWords({ en, zh });
