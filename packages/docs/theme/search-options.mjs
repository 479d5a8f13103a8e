/** How the index is made, and how it is read again in the browser: both need the same. */
export const SEARCH_OPTIONS = {
  idField: 'url',
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page'],
};
