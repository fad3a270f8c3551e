// A text to copy into a terminal or a file.

import { Copy } from './text.tsx';

export function Command({ text, label = 'Copy the command' }: { text: string; label?: string }) {
  return (
    <div class="command">
      <pre>{text}</pre>
      <Copy text={text} label={label} />
    </div>
  );
}
