// The button that loads a page about oneself again. These pages have no live updates, because the stream of events is
// about everybody.

export function ReadAgain({ of: { loading, reload } }: { of: { loading: boolean; reload: () => void } }) {
  return (
    <button type="button" class="plain" disabled={loading} onClick={reload}>
      Read again
    </button>
  );
}
