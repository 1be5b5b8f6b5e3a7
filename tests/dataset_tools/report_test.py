from object_detection.dataset_tools import example_builder, report


def test_long_lists_are_cut_in_the_text_only():
    result = report.ConversionReport(output_files=["x-0", "x-1"])
    drops = [example_builder.DroppedObject("a.xml", number, "zero_size", "cat")
             for number in range(30)]
    result.add_written("a.xml", 200, drops, ["box_clipped", "box_clipped"])
    result.finish()
    text = result.to_text()
    assert "a.xml object 9: cat" in text
    assert "a.xml object 10: cat" not in text
    assert "and 20 more" in text
    assert "box_clipped: 2, in 1 image(s), first a.xml" in text
    assert "objects: 230 read, 200 written, 30 dropped" in text
    assert "x-0 and 1 more" in text
    assert len(result.dropped_objects) == 30
    assert not result.warnings


def test_nothing_dropped_is_quiet():
    result = report.ConversionReport(output_files=["x"])
    result.add_written("a.xml", 0, [], [])
    result.finish()
    assert "dropped as" not in result.to_text()
    assert result.images_without_objects == 1
