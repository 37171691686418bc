print("HELD")
try:
    from IPython.display import HTML, Javascript, SVG, display

    display(HTML("<img src=x onerror=alert(1)>"))
    display(Javascript("alert(1)"))
    display(SVG('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'))
except ImportError:
    pass


class R:
    def _repr_html_(self):
        return "<script>alert(1)</script>"

    def _repr_mimebundle_(self, **k):
        return {"text/plain": "p", "text/html": "<b>", "application/vnd.jupyter.widget-view+json": {"model_id": "x"}}


R()
