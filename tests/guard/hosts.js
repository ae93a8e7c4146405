// Reads URLs, a JSON string a line, and writes for each the host that the URL Standard gives it, by itself and as a link
// on a page, and its scheme. Nothing where there is none.
'use strict';

function parsed(...where) {
  try {
    return new URL(...where);
  } catch {
    return {hostname: '', protocol: ''};
  }
}

const lines = require('fs').readFileSync(0, 'utf8').split('\n');
lines.pop();
const answers = lines.map((line) => {
  const url = JSON.parse(line);
  const {hostname, protocol} = parsed(url);
  return `${hostname}\t${parsed(url, 'http://page.test/a/').hostname}\t${protocol}\n`;
});
process.stdout.write(answers.join(''));
