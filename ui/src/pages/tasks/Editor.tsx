import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef, type CSSProperties } from "react";
import { look } from "../../editor/look";
import { modeOf } from "./modes";

export interface EditorProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onRun: () => void; // Ctrl-Enter
  readonly language: string;
  readonly label: string;
}

const LEAST = { "--editor-min": "16rem" } as CSSProperties;
const named = (label: string) => EditorView.contentAttributes.of({ "aria-label": label });

/** Where programs are written. Tab leaves it, as everywhere on the page. */
export default function Editor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const mode = useRef(new Compartment());
  const name = useRef(new Compartment());
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (place.current === null) return;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          look,
          mode.current.of([]),
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                latest.current.onRun();
                return true;
              },
            },
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          name.current.of(named(latest.current.label)),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const made = view.current;
    if (made === null || made.state.doc.toString() === props.value) return;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: props.value } });
  }, [props.value]);

  useEffect(() => {
    view.current?.dispatch({ effects: name.current.reconfigure(named(props.label)) });
  }, [props.label]);

  useEffect(() => {
    let left = false;
    void modeOf(props.language).then((extension) => {
      if (!left) view.current?.dispatch({ effects: mode.current.reconfigure(extension) });
    });
    return () => {
      left = true;
    };
  }, [props.language]);

  return <div className="code-editor task-program" style={LEAST} ref={place} />;
}
