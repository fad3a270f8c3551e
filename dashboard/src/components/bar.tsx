// A share of a whole as a bar, beside the text that states it.

import type { Tone } from './text.tsx';

export function Bar({ share, tone }: { share: number; tone: Tone }) {
  return (
    <span class={`track ${tone}`} aria-hidden="true">
      <span class="fill" style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
    </span>
  );
}
