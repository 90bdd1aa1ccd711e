import { Link } from "../../components";

/** The labels of a run; each leads to all runs that have it. */
export function Labels({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  const all = Object.entries(labels);
  if (all.length === 0) return <span className="soft">–</span>;
  return (
    <span className="run-labels">
      {all.map(([name, value]) => {
        const label = `${name}=${value}`;
        return (
          <Link
            key={name}
            className="run-label"
            title={label}
            to={`/ui/runs?${new URLSearchParams({ label }).toString()}`}
          >
            {label}
          </Link>
        );
      })}
    </span>
  );
}
