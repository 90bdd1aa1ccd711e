import { useRef, type ReactNode } from "react";
import { useT } from "../words";
import { Button } from "./Button";
import { ROW_PX, useWindowed } from "./windowed";

export interface Column<T> {
  readonly key: string;
  readonly head: ReactNode;
  readonly cell: (row: T) => ReactNode;
  readonly end?: boolean; // aligned to the right: numbers
  readonly wideOnly?: boolean; // left out on a phone
  readonly grow?: boolean; // takes what room is left
  readonly className?: string; // of its cells, for a page that lays them out otherwise
}

export interface TableProps<T> {
  readonly label: string; // what the table is, for screen readers
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly more?: (() => void) | null; // of usePages: load the next page
  readonly loading?: boolean;
  readonly empty?: ReactNode; // what stands there without rows, once they have come
  readonly virtualFrom?: number; // with more rows only those in sight are drawn
}

const VIRTUAL_FROM = 200;
const COUNTED_FROM = 20; // fewer are counted at a glance

/** Rows of one kind. Many of them scroll in a window of their own, where only those in sight are drawn. */
export function Table<T>(props: TableProps<T>) {
  const t = useT();
  const { columns, rows, loading = false, more = null } = props;
  const virtual = rows.length > (props.virtualFrom ?? VIRTUAL_FROM);
  const frame = useRef<HTMLDivElement>(null);
  const { from, to } = useWindowed(frame, rows.length, virtual);
  const isPlain = !loading && !more && rows.length < COUNTED_FROM;
  if (rows.length === 0 && !loading) return <>{props.empty ?? <p className="soft">{t("table.empty")}</p>}</>;
  return (
    <div className="table" aria-busy={loading}>
      <div
        className={virtual ? "table-frame virtual" : "table-frame"}
        ref={frame}
        role="group"
        aria-label={props.label}
        tabIndex={0}
      >
        <table aria-rowcount={virtual ? rows.length + 1 : undefined}>
          <caption className="unseen">{props.label}</caption>
          <thead>
            <tr aria-rowindex={virtual ? 1 : undefined}>
              {columns.map((column) => (
                <th key={column.key} scope="col" className={classOf(column)}>
                  {column.head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {from > 0 && <Gap rows={from} columns={columns.length} />}
            {rows.slice(from, to).map((row, index) => (
              <tr key={props.rowKey(row)} aria-rowindex={virtual ? from + index + 2 : undefined}>
                {columns.map((column) => (
                  <td key={column.key} className={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            {to < rows.length && <Gap rows={rows.length - to} columns={columns.length} />}
          </tbody>
        </table>
      </div>
      <p className={isPlain ? "unseen" : "table-foot"} role="status">
        {loading ? (
          <span className="soft">{t("table.loading")}</span>
        ) : (
          <span className="soft small">
            {t(more ? "table.rowsSoFar" : "table.rows", { count: rows.length })}
          </span>
        )}
        {more && <Button onClick={more}>{t("do.more")}</Button>}
      </p>
    </div>
  );
}

function Gap({ rows, columns }: { rows: number; columns: number }) {
  return (
    <tr aria-hidden="true" className="gap">
      <td colSpan={columns} style={{ height: rows * ROW_PX }} />
    </tr>
  );
}

function classOf<T>(column: Column<T>): string | undefined {
  const { end, wideOnly, grow, className } = column;
  const names = [end && "end", wideOnly && "wide-only", grow && "grow", className].filter(Boolean);
  return names.length ? names.join(" ") : undefined;
}
