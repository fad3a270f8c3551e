// Audit.

import { Page } from '../components/page.tsx';
import { Loading } from '../components/states.tsx';

export default function Audit() {
  return (
    <Page title="Audit">
      <Loading />
    </Page>
  );
}
