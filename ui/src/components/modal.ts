import { useEffect, useRef, type RefObject } from "react";

const WATCHED_MS = 10_000;

/**
 * Opens and closes a dialog over the page. What is to be filled in has the keyboard first, not the way out;
 * afterwards it is where it was.
 */
export function useModal(dialog: RefObject<HTMLDialogElement | null>, open: boolean): void {
  const opener = useRef<Element | null>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null || !open || element.open) return;
    opener.current = document.activeElement;
    element.showModal();
    element.querySelector<HTMLElement>("input, select, textarea")?.focus();
    return () => {
      element.close(); // which gives the focus back
      keepFocus(opener.current);
    };
  }, [dialog, open]);
}

/** What was deleted takes the button that asked for it along: then the heading of the page gets the keyboard. */
function keepFocus(opener: Element | null): void {
  if (opener === null || opener === document.body) return;
  const stop = () => {
    observer.disconnect();
    clearTimeout(timer);
  };
  const look = () => {
    if (opener.isConnected) return;
    stop();
    const nowhere = document.activeElement === null || document.activeElement === document.body;
    if (nowhere) document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { childList: true, subtree: true });
  const timer = setTimeout(stop, WATCHED_MS);
  look();
}
