/**
 * The script of the page, for any browser of the last years: no modules, no other files. The filter is in the
 * fragment (`#text=web&class=ttl&kind=pod&over=tcp`), so that a filtered list is a link. It filters questions;
 * an entry shows how many of its questions are left, and three of them.
 */
export const PAGE_SCRIPT = `
'use strict';
(function () {
  var ENTRIES = 50;
  var EXAMPLES = 3;
  var MORE_EXAMPLES = 100;
  var data = JSON.parse(document.getElementById('data').textContent);
  var fields = ['text', 'class', 'kind', 'over'].map(function (id) {
    return document.getElementById(id);
  });
  var list = document.getElementById('list');
  var more = document.getElementById('more');
  var found = [];
  var drawn = 0;
  data.differences.forEach(function (one) {
    one.search = [one.name, one.type].concat(one.left, one.right).join(' ').toLowerCase();
  });
  function element(name, text, parent) {
    var made = document.createElement(name);
    made.textContent = text;
    parent.appendChild(made);
    return made;
  }
  function count(number, noun) {
    return number + ' ' + noun + (number === 1 ? '' : 's');
  }
  function pair(left, right, parent) {
    var box = element('div', '', parent);
    box.className = 'pair';
    element('pre', left.join('\\n') || '-', box);
    element('pre', right.join('\\n') || '-', box);
  }
  function drawQuestion(one, parent) {
    var box = element('section', '', parent);
    var heading = element('h4', one.name + ' ' + one.type + ' ', box);
    element('small', 'over ' + one.over.join(', '), heading);
    one.findings.forEach(function (finding) {
      element('small', finding.aspect, box);
      pair(finding.left, finding.right, box);
    });
    var details = element('details', '', box);
    element('summary', 'whole replies', details);
    pair(one.left, one.right, details);
  }
  function drawEntry(group) {
    var article = element('article', '', list);
    var heading = element('h3', group.entry.class + ' ', article);
    var what = ' (' + group.entry.types.join(' or ') + ', kind ' + group.entry.kinds.join(' or ') + ')';
    element('small', count(group.questions.length, 'question') + what, heading);
    element('p', group.entry.meaning, article);
    var box = element('div', '', article);
    var shown = 0;
    function some(number) {
      group.questions.slice(shown, shown + number).forEach(function (one) { drawQuestion(one, box); });
      shown += number;
    }
    some(EXAMPLES);
    if (group.questions.length <= EXAMPLES) return;
    var button = element('button', '', article);
    function label() {
      button.hidden = shown >= group.questions.length;
      button.textContent = 'Show ' + Math.min(MORE_EXAMPLES, group.questions.length - shown) +
        ' more of ' + group.questions.length;
    }
    button.addEventListener('click', function () { some(MORE_EXAMPLES); label(); });
    label();
  }
  function draw() {
    found.slice(drawn, drawn + ENTRIES).forEach(drawEntry);
    drawn = Math.min(drawn + ENTRIES, found.length);
    more.hidden = drawn === found.length;
  }
  function filter() {
    var values = fields.map(function (field) { return field.value; });
    var words = values[0].toLowerCase().split(/\\s+/);
    var questions = 0;
    found = [];
    data.entries.forEach(function (entry) {
      if (values[1] && entry.class !== values[1]) return;
      var matching = entry.differences.map(function (index) {
        return data.differences[index];
      }).filter(function (one) {
        return (!values[2] || one.kind === values[2]) && (!values[3] || one.over.indexOf(values[3]) >= 0) &&
          words.every(function (word) { return one.search.indexOf(word) >= 0; });
      });
      questions += matching.length;
      if (matching.length > 0) found.push({ entry: entry, questions: matching });
    });
    list.textContent = '';
    drawn = 0;
    draw();
    document.getElementById('shown').textContent = count(questions, 'question') + ' of ' +
      data.differences.length + ', ' + count(found.length, 'difference') + ' of ' + data.entries.length;
  }
  function readFragment() {
    var wanted = new URLSearchParams(location.hash.slice(1));
    fields.forEach(function (field) { field.value = wanted.get(field.id) || ''; });
    filter();
  }
  function writeFragment() {
    var wanted = new URLSearchParams();
    fields.forEach(function (field) { if (field.value) wanted.set(field.id, field.value); });
    history.replaceState(null, '', '#' + wanted.toString());
    filter();
  }
  document.getElementById('filters').addEventListener('input', writeFragment);
  document.getElementById('filters').addEventListener('submit', function (event) { event.preventDefault(); });
  window.addEventListener('hashchange', readFragment);
  more.addEventListener('click', draw);
  readFragment();
})();
`;
