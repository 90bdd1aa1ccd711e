import { closeBrackets } from "@codemirror/autocomplete";
import { history } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { drawSelection, EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, type RefObject } from "react";
import { look } from "./look";

/** What every editor has. */
export const basics: Extension = [
  lineNumbers(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  look,
];

/** Tell what was typed. */
export const telling = (tell: (text: string) => void): Extension =>
  EditorView.updateListener.of((update) => {
    if (update.docChanged) tell(update.state.doc.toString());
  });

/** Show a text that came from elsewhere than the keyboard. */
export function useText(view: RefObject<EditorView | null>, text: string): void {
  useEffect(() => {
    const made = view.current;
    if (made === null || made.state.doc.toString() === text) return;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
  }, [view, text]);
}
