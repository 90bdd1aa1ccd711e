import { closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, historyKeymap } from "@codemirror/commands";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap } from "@codemirror/view";
import { useEffect, useRef, type CSSProperties } from "react";
import { basics, telling, useText } from "../../editor/mounting";
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
          basics,
          highlightActiveLine(),
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
          telling((text) => latest.current.onChange(text)),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useText(view, props.value);

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
