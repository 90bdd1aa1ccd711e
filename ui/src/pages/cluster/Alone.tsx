import { Copy } from "../../components";
import { useWords } from "../../words";
import type { ClusterNode } from "./types";
import { words } from "./words";

const START = [
  "export WINDLASS_DATABASE=postgresql://windlass@db.example/windlass",
  "windlass node --name n1 --listen 127.0.0.1:2551 &",
  "windlass node --name n2 --listen 127.0.0.1:2552 &",
].join("\n");
const ANOTHER = "windlass node --name n2 --listen 127.0.0.1:2552";
const UP = "local"; // how `windlass up` calls itself

/** What a single engine is, and how to have more of them. */
export function Alone({ node }: { readonly node: ClusterNode | null }) {
  const t = useWords(words);
  if (node !== null && node.name !== UP)
    return (
      <div className="empty">
        <p>{t("aloneNode")}</p>
        <Copy shown text={ANOTHER} />
      </div>
    );
  return (
    <div className="empty">
      <p className="empty-title">{t("alone")}</p>
      <p className="soft">{t("aloneMore")}</p>
      <Copy shown text={START} />
      <p className="soft">{t("aloneTry")}</p>
      <Copy shown text="make cluster" />
    </div>
  );
}
