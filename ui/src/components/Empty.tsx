import type { ReactNode } from "react";
import { Copy } from "./Copy";

export interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode; // what to do next
  readonly command?: string; // that does it, to copy
}

/** What stands where nothing is: what to do next. */
export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <div className="soft">{children}</div>}
      {command && <Copy text={command} shown />}
    </div>
  );
}
