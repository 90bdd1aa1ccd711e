import { useState } from "react";
import { isExact } from "../api/exact";
import { useT } from "../words";
import { Copy } from "./Copy";

export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export interface JsonProps {
  readonly value: JsonValue | undefined;
  readonly label: string; // what it is, for screen readers
  readonly depth?: number; // levels that are open at first
}

const AT_ONCE = 100;
const TEXT_MAX = 2_000;

/** JSON as a tree that opens and closes; large parts are drawn piece by piece. */
export function Json({ value, label, depth = 2 }: JsonProps) {
  const t = useT();
  if (value === undefined) return <span className="soft">{t("json.empty")}</span>;
  return (
    <div className="json" role="group" aria-label={label}>
      <div className="json-copy">
        <Copy text={JSON.stringify(value, null, 2)} label={`${t("do.copy")}: ${label}`} />
      </div>
      <Value value={value} open={depth} />
    </div>
  );
}

function Value({ value, open, name }: { value: JsonValue; open: number; name?: string }) {
  if (value !== null && typeof value === "object" && !isExact(value))
    return <Branch value={value} open={open} name={name} />;
  return (
    <div className="json-line">
      {name !== undefined && <span className="json-key">{name}: </span>}
      {isExact(value) ? <span className="json-atom">{value.rawJSON}</span> : <Leaf value={value} />}
    </div>
  );
}

function Leaf({ value }: { value: string | number | boolean | null }) {
  const t = useT();
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className="json-atom">{String(value)}</span>;
  const cut = !whole && value.length > TEXT_MAX;
  return (
    <span className="json-text">
      {JSON.stringify(cut ? value.slice(0, TEXT_MAX) : value)}
      {cut && (
        <button type="button" className="button quiet" onClick={() => setWhole(true)}>
          {t("json.cut", { count: value.length - TEXT_MAX })}
        </button>
      )}
    </span>
  );
}

type Tree = readonly JsonValue[] | { readonly [key: string]: JsonValue };

function Branch({ value, open, name }: { value: Tree; open: number; name: string | undefined }) {
  const t = useT();
  const [shown, setShown] = useState(open > 0);
  const [limit, setLimit] = useState(AT_ONCE);
  const isList = Array.isArray(value);
  const parts: [string, JsonValue][] = Object.entries(value);
  const count = t(isList ? "json.items" : "json.keys", { count: parts.length });
  return (
    <details className="json-branch" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        {name !== undefined && <span className="json-key">{name}: </span>}
        <span className="soft">
          {isList ? "[…]" : "{…}"} {count}
        </span>
      </summary>
      {shown && (
        <div className="json-inside">
          {parts.slice(0, limit).map(([key, part]) => (
            <Value key={key} name={key} value={part} open={open - 1} />
          ))}
          {parts.length > limit && (
            <button type="button" className="button quiet" onClick={() => setLimit(limit + 10 * AT_ONCE)}>
              {t("json.cut", { count: parts.length - limit })}
            </button>
          )}
        </div>
      )}
    </details>
  );
}
