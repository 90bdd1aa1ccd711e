import { recall, remember } from "../../kept";
import { sampleOf } from "./samples";

const TOO_LONG = 65_536; // as the server has it

/** What was written here last in that language. */
export const draftOf = (language: string): string => recall(`draft.${language}`) ?? sampleOf(language);

export function keepDraft(language: string, code: string): void {
  remember(`draft.${language}`, code === sampleOf(language) || code.length > TOO_LONG ? null : code);
}
