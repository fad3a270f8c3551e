// Offers the packs, policies to begin with: the text of the chosen one goes into the editor, where undo brings back what
// was there before.

import { useState } from 'preact/hooks';
import { wantsFolder } from '../../../../src/core/policy-file/pack-folder.ts';
import { announce } from '../../announce.ts';
import { Field } from '../../components/field.tsx';
import { Problem } from '../../components/states.tsx';
import { useGet } from '../../load.ts';
import type { Pack } from '../../resources.ts';
import { FOLDER_HINT, forFolder } from './pack-folder.ts';

const HINT = 'A policy that is written for real tool servers. Put in your own names, as its first lines say.';

export function PackChoice({ onChosen }: { onChosen: (text: string) => void }) {
  const { data, error } = useGet<{ packs: Pack[] }>('/packs');
  const [name, setName] = useState('');
  const packs = data?.packs ?? [];
  const pack = packs.find(each => each.name === name);
  const [folder, setFolder] = useState('');
  const [fault, setFault] = useState<Error | null>(null);
  const asksFolder = pack !== undefined && wantsFolder(pack.text);
  const use = ({ text }: Pack) => {
    try {
      onChosen(asksFolder ? forFolder(text, folder.trim()) : text);
      setFault(null);
      announce(`In the editor now: ${name}`);
    } catch (error) {
      setFault(error as Error);
    }
  };
  return (
    <div class="stack">
      <Problem error={error} />
      <Field label="Start from a pack" hint={pack?.description ?? HINT}>
        {ties => (
          <select {...ties} value={name} onChange={event => setName(event.currentTarget.value)}>
            <option value="">Choose a pack…</option>
            {packs.map(each => (
              <option key={each.name} value={each.name}>
                {each.name}: {each.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {asksFolder && (
        <Field label="Folder of the project" hint={FOLDER_HINT}>
          {ties => (
            <input
              {...ties}
              placeholder="/home/ann/project"
              value={folder}
              onInput={event => setFolder(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Problem error={fault} />
      <div class="actions">
        <button type="button" class="plain" disabled={pack === undefined} onClick={() => pack && use(pack)}>
          Use its text
        </button>
      </div>
    </div>
  );
}
