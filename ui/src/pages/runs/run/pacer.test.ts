import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Pacer } from "./pacer";

describe("what changes all the time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const paced = () => {
    const read = vi.fn();
    return { read, pacer: new Pacer(read, () => Date.now()) };
  };

  it("is read at once, and then at most every half second", () => {
    const { read, pacer } = paced();
    pacer.want();
    vi.advanceTimersByTime(0);
    expect(read).toHaveBeenCalledTimes(1);
    pacer.began();
    pacer.done();
    for (let turn = 0; turn < 49; turn++) {
      pacer.want();
      vi.advanceTimersByTime(10);
    }
    expect(read).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(10);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("is never read twice at the same time, and what happened meanwhile is read after", () => {
    const { read, pacer } = paced();
    pacer.began();
    pacer.want();
    vi.advanceTimersByTime(10_000);
    expect(read).not.toHaveBeenCalled();
    pacer.done();
    vi.advanceTimersByTime(29_999);
    expect(read).not.toHaveBeenCalled(); // it took ten seconds: three times as long nothing is asked
    vi.advanceTimersByTime(1);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("is read rarely if it is large, unless something asks for it", () => {
    const { read, pacer } = paced();
    pacer.began();
    pacer.done(20_000);
    pacer.want(false);
    vi.advanceTimersByTime(19_999);
    expect(read).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(read).toHaveBeenCalledTimes(1);
    pacer.began();
    pacer.want(false);
    pacer.done(20_000);
    pacer.want(true);
    pacer.want(false);
    vi.advanceTimersByTime(500);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("is not read any more once nobody looks", () => {
    const { read, pacer } = paced();
    pacer.want();
    pacer.stop();
    vi.advanceTimersByTime(10_000);
    expect(read).not.toHaveBeenCalled();
  });
});
