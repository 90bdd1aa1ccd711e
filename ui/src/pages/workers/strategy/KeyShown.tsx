import { useWords } from "../../../words";
import { words } from "../words";
import { partsOf } from "./keys";
import type { KeyPart } from "./types";

export interface KeyShownProps {
  readonly strategy: string;
  readonly parts: readonly KeyPart[];
}

export function KeyShown({ strategy, parts }: KeyShownProps) {
  const t = useWords(words);
  if (parts.length === 0) return <span className="soft">–</span>;
  return (
    <span>
      {partsOf(strategy, parts).map((part, place) => (
        <span key={place} className="key-part keep">
          {part.name && `${t(part.name)} `}
          {part.more ? `${part.value} (${t(part.more)})` : part.value}
        </span>
      ))}
    </span>
  );
}
