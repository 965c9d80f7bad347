"""The documentation site: ``make docs`` builds it, runs every tutorial, and treats warnings as errors."""

from importlib.metadata import version as version_of

project = "cdvm"
author = "The cdvm authors"
version = release = version_of("cdvm")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",  # formulas without a network
]
exclude_patterns = ["_build", "_templates"]
html_extra_path = ["example-report.html"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "cdvm"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_end": [],
}
html_show_sourcelink = False

# tutorials are run when the site is built, and a tutorial that fails fails the site
nb_execution_mode = "cache"
nb_execution_cache_path = "../build/docs-cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 1800
nb_merge_streams = True
nb_kernel_rgx_aliases = {".*": "python3"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # docstrings tell what may be passed
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
copybutton_prompt_text = r">>> |\$ "
suppress_warnings = ["mystnb.unknown_mime_type"]
linkcheck_ignore = [r"http://localhost.*"]
