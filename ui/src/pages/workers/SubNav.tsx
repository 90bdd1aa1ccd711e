import { Link } from "../../components";
import { useWords } from "../../words";
import { words } from "./words";

/** Between the two pages about workers. */
export function SubNav({ here }: { readonly here: "workers" | "strategy" }) {
  const t = useWords(words);
  return (
    <nav className="subnav" aria-label={t("tabs")}>
      <Link to="/ui/workers" current={here === "workers"}>
        {t("tabWorkers")}
      </Link>
      <Link to="/ui/workers/strategy" current={here === "strategy"}>
        {t("tabStrategy")}
      </Link>
    </nav>
  );
}
