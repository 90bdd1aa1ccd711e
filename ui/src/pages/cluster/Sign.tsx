import type { CSSProperties } from "react";
import type { Mark } from "./map";

/** The letter and colour of a node, as the map shows it. */
export function Sign({ mark }: { readonly mark: Mark | null }) {
  if (mark === null) return null;
  return (
    <span className="node-sign" style={tint(mark)} aria-hidden="true">
      {mark.letter}
    </span>
  );
}

export function tint(mark: Mark | null): CSSProperties | undefined {
  return mark === null ? undefined : ({ "--hue": mark.hue } as CSSProperties);
}
