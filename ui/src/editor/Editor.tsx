import { autocompletion, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef, type CSSProperties } from "react";
import { completeKeys, type KnownKeys } from "./complete";
import { spanOf, type Mark } from "./marks";
import { basics, telling, useText } from "./mounting";

export interface EditorProps {
  readonly value: string;
  readonly onChange?: (value: string) => void; // left out: it is only read
  readonly language: "yaml" | "json" | "text";
  readonly label: string;
  readonly marks?: readonly Mark[]; // mistakes at their places
  readonly keys?: KnownKeys; // what is offered while a key is typed
  readonly minLines?: number;
  readonly readOnly?: boolean;
  readonly onSave?: () => void; // Ctrl-S
}

const LANGUAGES: Record<EditorProps["language"], () => Extension> = {
  yaml,
  json,
  text: () => [],
};
const NO_MARKS: readonly Mark[] = [];

/** Where YAML and JSON are written. Tab leaves it, as everywhere on the page. */
export default function Editor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { language, label, marks = NO_MARKS } = props;
  const fixed = props.readOnly ?? props.onChange === undefined;

  useEffect(() => {
    if (place.current === null) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          basics,
          lintGutter(),
          EditorState.tabSize.of(2),
          EditorState.readOnly.of(fixed),
          LANGUAGES[language](),
          autocompletion({ override: [completeKeys(() => latest.current.keys)], icons: false }),
          keymap.of([
            { key: "Mod-s", run: () => saved(latest.current.onSave), preventDefault: true },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          telling((text) => latest.current.onChange?.(text)),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [language, label, fixed]);

  useText(view, props.value);

  useEffect(() => {
    const made = view.current;
    if (made === null) return;
    const text = made.state.doc.toString();
    const found = marks.map((mark) => ({
      ...spanOf(text, mark),
      severity: "error" as const,
      message: mark.message,
    }));
    made.dispatch(setDiagnostics(made.state, found));
  }, [marks, language, label, fixed]);

  const least = { "--editor-min": `${(props.minLines ?? 6) * 1.4}rem` } as CSSProperties;
  return <div className="code-editor" style={least} ref={place} />;
}

function saved(save: (() => void) | undefined): boolean {
  save?.();
  return true;
}
