// Counts the turns that the event loop gives to everybody else while something works.

export function countTurns(): { stop: () => number } {
  let turns = 0;
  let stopped = false;
  const turn = () => {
    turns++;
    if (!stopped) setImmediate(turn);
  };
  setImmediate(turn);
  const stop = () => {
    stopped = true;
    return turns;
  };
  return { stop };
}
